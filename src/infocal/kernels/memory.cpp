#include "memory.hpp"

#include <mutex>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#else
#include <stdlib.h>
#endif

namespace infocal {
namespace {

std::mutex lock;
std::vector<Pages> kept;  // oldest first, KEPT bytes at most

#if defined(__unix__) || defined(__APPLE__)
Pages map(size_t bytes) {
    void *const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return {nullptr, 0};
#if defined(MADV_HUGEPAGE)
    madvise(data, bytes, MADV_HUGEPAGE);
#endif
    return {data, bytes};
}

void unmap(const Pages &pages) {
    if (pages.data) munmap(pages.data, pages.bytes);
}
#else
Pages map(size_t bytes) { return {malloc(bytes), bytes}; }

void unmap(const Pages &pages) { free(pages.data); }
#endif

}  // namespace

Pages take_pages(size_t bytes) {
    {
        const std::lock_guard<std::mutex> guard(lock);
        auto found = kept.end();
        for (auto at = kept.begin(); at != kept.end(); ++at)
            if (at->bytes >= bytes && at->bytes / 2 <= bytes && (found == kept.end() || at->bytes < found->bytes)) found = at;
        if (found != kept.end()) {
            const Pages pages = *found;
            kept.erase(found);
            return pages;
        }
    }
    return map(bytes);
}

void give_back(const Pages &pages) {
    if (pages.bytes > KEPT) {
        unmap(pages);
        return;
    }
    const std::lock_guard<std::mutex> guard(lock);
    kept.push_back(pages);
    size_t total = 0;
    for (const Pages &held : kept) total += held.bytes;
    for (; total > KEPT; kept.erase(kept.begin())) {
        total -= kept.front().bytes;
        unmap(kept.front());
    }
}

}  // namespace infocal

#include "memory.hpp"

#include <mutex>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#else
#include <stdlib.h>
#endif

namespace infocal {
namespace {

std::mutex lock;
Pages kept = {nullptr, 0};

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
        if (kept.data && kept.bytes == bytes) return std::exchange(kept, Pages{nullptr, 0});
    }
    return map(bytes);
}

void give_back(const Pages &pages) {
    Pages spare = pages;
    if (pages.bytes <= KEPT) {
        const std::lock_guard<std::mutex> guard(lock);
        std::swap(spare, kept);
    }
    unmap(spare);
}

}  // namespace infocal

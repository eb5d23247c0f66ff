// Memory of large results.
#pragma once
#include <stddef.h>

namespace infocal {

// Pages for a large result, at least so many bytes. Fresh pages cost about as much as what is written to them, so the last
// ones given back are kept for the next results of their size, or of half of it, up to KEPT bytes in all; the system is
// asked for large pages where it has them.
struct Pages {
    void *data;
    size_t bytes;
};

const size_t KEPT = size_t(128) << 20;

Pages take_pages(size_t bytes);  // data is null where there is no memory
void give_back(const Pages &pages);

}  // namespace infocal

// PageFiller: makes pages with what is to lie in them. The system clears the pages of new memory, which then
// is written a second time; with UFFDIO_COPY (userfaultfd(2)) it makes them as copies at once.
#pragma once

#include <cstddef>

namespace inferno {

class PageFiller {
 public:
  PageFiller() = default;
  ~PageFiller();
  PageFiller(const PageFiller&) = delete;
  PageFiller& operator=(const PageFiller&) = delete;

  // False where the system has no such call (before Linux 5.11, and not Linux) or forbids it (containers
  // may).
  bool is_possible();

  // Private anonymous memory, whole pages: until end(), pages of it that are not there are made by copy()
  // alone, and whoever else touches one gets SIGBUS. False where that is not possible; nothing has changed
  // then.
  bool begin(void* at, size_t bytes);
  void end(void* at, size_t bytes);

  // To memory between begin() and end(), any bytes, whether their pages are there or not. From any thread;
  // what threads copy must not overlap. As with non_temporal_copy(), whoever is told of it sees it. False
  // when the system has no memory for the pages.
  bool copy(void* to, const void* from, size_t bytes) const;

 private:
  bool make_page(void* at) const;

  static constexpr int kNotTried = -1, kImpossible = -2;
  int file_ = kNotTried;
};

}  // namespace inferno

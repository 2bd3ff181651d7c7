// A limit of the kernel on this process and the children that it starts.
#pragma once

#include <sys/resource.h>

#include <cstdlib>

namespace tidemill::tools {

// While it lives, the soft limit of `resource` is `value`.
class ResourceLimit {
 public:
  ResourceLimit(__rlimit_resource_t resource, rlim_t value) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    const rlimit limited{value, before_.rlim_max};
    if (::setrlimit(resource_, &limited) != 0) std::abort();
  }
  ~ResourceLimit() { ::setrlimit(resource_, &before_); }
  ResourceLimit(const ResourceLimit&) = delete;

 private:
  const __rlimit_resource_t resource_;
  rlimit before_{};
};

}  // namespace tidemill::tools

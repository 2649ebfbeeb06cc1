// The links of newer HDF5 groups: in messages of the group, or, where they are many, in a heap.
#pragma once

#include <functional>
#include <string>

#include "snug/data/hdf5_bytes.h"

namespace snug {

struct Hdf5Link {
  std::string name;
  bool is_hard = true;  // Else it leads to another path or file.
  int64_t address = 0;  // Of the object's header.
};
Hdf5Link hdf5_link(Hdf5Bytes message, const std::string& where);

// Calls `visit` with the message of every link that a link info message leads to.
void hdf5_dense_links(Hdf5Input& input, Hdf5Bytes info,
                      const std::function<void(Hdf5Bytes link)>& visit);

// Calls `visit` with every record of a tree of version 2, in order.
void visit_tree_2(Hdf5Input& input, int64_t address,
                  const std::function<void(Hdf5Bytes record)>& visit);

}  // namespace snug

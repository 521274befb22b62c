// Gives kept inputs to a harness, without a fuzzer: for compilers that have none, and in the tests.
#include <fstream>
#include <iterator>

#include "input.hpp"

int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    if (!file) return std::fprintf(stderr, "%s cannot be read\n", paths[i]), 2;
    const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
    const std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[content.size()]);
    std::memcpy(bytes.get(), content.data(), content.size());
    std::fprintf(stderr, "%s\n", paths[i]);
    LLVMFuzzerTestOneInput(bytes.get(), content.size());
  }
  return 0;
}

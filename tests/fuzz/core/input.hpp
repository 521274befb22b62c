// What the harnesses of the core share: numbers and arrays out of the fuzzer's bytes, and the end
// of a run that broke a promise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "../../../cpp/dispatch.hpp"

#define PROMISE(holds, ...)                                    \
  do {                                                         \
    if (!(holds)) {                                            \
      std::fprintf(stderr, "broken promise: %s\n  ", #holds);  \
      std::fprintf(stderr, __VA_ARGS__);                       \
      std::fprintf(stderr, "\n  %s:%d\n", __FILE__, __LINE__); \
      std::abort();                                            \
    }                                                          \
  } while (false)

namespace slimsvm {

// An array of exactly so many elements, so that the sanitizer sees the first one beyond.
template <class T>
class Exactly {
 public:
  explicit Exactly(Index size) : size_(size), memory_(new T[static_cast<std::size_t>(size)]()) {}
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  Index size() const { return size_; }
  T& operator[](Index i) { return memory_[static_cast<std::size_t>(i)]; }
  const T& operator[](Index i) const { return memory_[static_cast<std::size_t>(i)]; }
  bool same_bits(const Exactly& other) const {
    return size_ == other.size_ &&
           !std::memcmp(data(), other.data(), static_cast<std::size_t>(size_) * sizeof(T));
  }

 private:
  Index size_;
  std::unique_ptr<T[]> memory_;
};

// Reads the fuzzer's bytes; 0 after the last one.
class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), size_(size) {}

  unsigned byte() { return at_ < size_ ? bytes_[at_++] : 0u; }
  Index up_to(Index most) { return static_cast<Index>((byte() | byte() << 8)) % (most + 1); }
  bool flag() { return byte() & 1u; }

  // Small numbers, those that are known for trouble, and any bits at all.
  double number() {
    static const double special[] = {0.0,    -0.0,    1.0,     -1.0,  1e-8,   1e8,   -1e8,  1e-40,
                                     1e19,   -9999.0, 3e38,    -3e38, 1e-150, 1e150, 1e200, -1e200,
                                     1e-310, 1e-320,  1.7e308, 0.5,   2.0,    1e-3,  1e3,   1e5};
    const unsigned code = byte();
    if (code < 128) return (static_cast<double>(code) - 64.0) / 16.0;
    if (code < 224) return special[code % (sizeof special / sizeof special[0])];
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  double finite() {
    const double value = number();
    return std::isfinite(value) ? value : 1.0;
  }

  // An array: random numbers around an offset, with some of the fuzzer's own strewn in.
  template <class T>
  Exactly<T> array(Index size, bool all_finite = true, bool tame = false) {
    Exactly<T> values(size);
    std::uint64_t state = byte();
    const double offset = tame ? 0.0 : finite(), scale = tame ? 1.0 : finite();
    for (Index i = 0; i < size; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double random = static_cast<double>(state >> 33) / 1073741824.0 - 1.0;
      values[i] = held<T>(offset + scale * random, true);
    }
    for (unsigned strewn = byte() % 16; strewn > 0 && size > 0; --strewn) {
      const Index place = up_to(size - 1);
      const double value = number();
      values[place] = tame && !(std::abs(value) <= 1e3) ? T(1) : held<T>(value, all_finite);
    }
    return values;
  }

  // The same number as T, and 0 where T cannot hold it though it should be finite.
  template <class T>
  static T held(double value, bool all_finite) {
    if (!all_finite && !std::isfinite(value)) return static_cast<T>(value);
    const bool fits = std::abs(value) <= static_cast<double>(std::numeric_limits<T>::max());
    return fits ? static_cast<T>(value) : T(0);
  }

 private:
  const std::uint8_t* bytes_;
  std::size_t size_, at_ = 0;
};

inline bool never() {
  return false;
}

// Takes one of the instruction sets of this machine.
inline void choose_set(unsigned number) {
  static const auto sets = available_instruction_sets();
  setenv("SLIMSVM_ISA", sets[number % sets.size()]->name, 1);
  choose_instruction_set();
}

}  // namespace slimsvm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

// Which x86-64 instruction sets the processor has and the system saves, asked of the processor:
// __builtin_cpu_supports needs a run-time library that Clang does not link on Windows.
#pragma once

#include <cstdint>

namespace slimsvm {

struct Registers {
  std::uint32_t a, b, c, d;
};

inline Registers cpuid(std::uint32_t leaf) {
  Registers r;
  __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(0));
  return r;
}

// The registers that the system saves when it changes threads: XCR0.
inline std::uint32_t saved_registers() {
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

struct Processor {
  bool avx2 = false;    // with FMA
  bool avx512 = false;  // F, DQ, BW and VL

  Processor() {
    constexpr std::uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28;  // leaf 1, ecx
    constexpr std::uint32_t avx2_bit = 1u << 5;                                  // leaf 7, ebx
    constexpr std::uint32_t avx512_bits = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    constexpr std::uint32_t ymm = 0x06, zmm = 0xe6;  // XCR0
    if (cpuid(0).a < 7) return;
    const std::uint32_t first = cpuid(1).c, second = cpuid(7).b;
    if (!has(first, fma | osxsave | avx)) return;
    const std::uint32_t saved = saved_registers();
    avx2 = has(saved, ymm) && has(second, avx2_bit);
    avx512 = avx2 && has(saved, zmm) && has(second, avx512_bits);
  }

 private:
  static bool has(std::uint32_t bits, std::uint32_t wanted) { return (bits & wanted) == wanted; }
};

}  // namespace slimsvm

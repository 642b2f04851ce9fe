// Matrix products of quarters: C[rows][columns] = A[rows][inner] · B[inner][columns] + a start.
//
//   $m2  C        halves, panels of 16 columns, each rows × 16 in order of rows; interleaved memory
//   $m3  A        panels of 32 inner elements, each rows × 32 in order of rows
//   $m4  B        blocks of 16 columns × 32 inner elements; all blocks of 16 columns after another
//   $m5  rows     at least 1
//   $m6  inner    blocks of 32, at least 1
//   $m7  columns  blocks of 16, at least 1
//   $m8  start    0: from zero; 1: from C; else the address of a row of C, which all rows start as
//   $m9  formats  bits 5:0 the signed exponent e of a scale: products count 2**e times, which is the
//                 sum of the exponents of A and B; bit 8: B is F143 (else F152); bit 9: A is
//
// Sums and memory are as in gemm_f16. Leaves $FP_INFMT and $FP_ISCL as it needs them.

#include "gemm.inc"
#include "gemm_supervisor.inc"

#define FORMATS_SHIFT 8

.macro SET_QUARTER_FORMATS
  put     $FP_ISCL, $m9
  shr     $m9, $m9, FORMATS_SHIFT
  put     $FP_INFMT, $m9
.endm

  GEMM_SUPERVISOR gemm_f8, ROW_ATOMS, TO_HALVES, SET_QUARTER_FORMATS
  GEMM_FROM_ZERO gemm_f8_zero, f8v8hihov4amp, 5, c
  GEMM_WITH_PARTIALS gemm_f8_accumulate, f8v8hihov4amp, 5, c, AS_C, c
  GEMM_WITH_PARTIALS gemm_f8_bias, f8v8hihov4amp, 5, bias, AS_BIAS, c

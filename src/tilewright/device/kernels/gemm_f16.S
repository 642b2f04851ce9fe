// Matrix products of halves: C[rows][columns] = A[rows][inner] · B[inner][columns] + a start.
//
//   $m2  C        panels of 16 columns, each rows × 16 in order of rows; interleaved memory
//   $m3  A        panels of 16 inner elements, each rows × 16 in order of rows
//   $m4  B        blocks of 16 columns × 16 inner elements; all blocks of 16 columns after another
//   $m5  rows     at least 1
//   $m6  inner    blocks of 16, at least 1
//   $m7  columns  blocks of 16, at least 1
//   $m8  start    0: from zero; 1: from C; else the address of a row of C, which all rows start as
//
// gemm_f16: C and the row are halves. A block's sums are singles inside, and rounded to halves after
// each block of 16 inner elements; 16 columns in a pass over A. Panels of C are what the next
// product takes as A.
// gemm_f16_f32: C and the row are singles, so that no sum is rounded to halves; 8 columns in a pass.
// gemm_f16_rows: like gemm_f16, to halves in row-major order:
//   $m2  Z        rows × columns, at most 21 blocks of columns; interleaved memory
//   $m8  start    0 or an address
//   $m9  C        panel of 16 columns for sums on the way, interleaved; not used if inner is 1
//
// Addresses are multiples of 16. Weights in interleaved memory are loaded 128 bits at a time. A may
// share no memory element with C, Z or the row.

#include "gemm.inc"
#include "gemm_supervisor.inc"

#define TO_SINGLES STRIDES_OF(NEXT_ROW(ROW_ATOMS), NEXT_ROW(2 * ROW_ATOMS))

  GEMM_SUPERVISOR gemm_f16, ROW_ATOMS, TO_HALVES
  GEMM_FROM_ZERO gemm_f16_zero, f16v4hihov4amp, 5, c
  GEMM_WITH_PARTIALS gemm_f16_accumulate, f16v4hihov4amp, 5, c, AS_C, c
  GEMM_WITH_PARTIALS gemm_f16_bias, f16v4hihov4amp, 5, bias, AS_BIAS, c

// ---------------------------------------------------------------------------------------------
// Singles as results: a block of weights is worked in two halves of 8 columns. Each half has a
// state, with its own addresses in C and in the row.
// ---------------------------------------------------------------------------------------------

// With a single set, units are in order of columns.
.macro HALF_WEIGHTS wide
  .set .Lentry, 0
  .rept 32 / (1 + \wide)
  .if \wide
    ld128putcs .Lentry
  .else
    ld64putcs .Lentry
  .endif
    .set .Lentry, .Lentry + 1 + \wide
  .endr
.endm

#define HALF_ROW 32
#define OTHER    STATE_WORDS

  SUPERVISOR_FUNCTION gemm_f16_f32
  GEMM_PROLOGUE gemm_f16_f32
  ld32    $S_LEFT, $S_STATE, $mzero, STATE_BIAS
.Lf32_column:
  // S_LEFT is the row's address here; S_ENTRY what the first half of the first block is done by.
  add     $S_A_NOW, $S_C, HALF_ROW
  st32    $S_C, $S_STATE, $mzero, STATE_C
  st32    $S_LEFT, $S_STATE, $mzero, STATE_BIAS
  add     $S_LEFT, $S_LEFT, HALF_ROW
  st32    $S_A_NOW, $S_STATE, $mzero, OTHER + STATE_C
  st32    $S_LEFT, $S_STATE, $mzero, OTHER + STATE_BIAS
  ld32    $S_LEFT, $S_STATE, $mzero, STATE_FIRST
  mov     $S_A_NOW, $S_A
  add     $S_LEFT, $S_LEFT, gemm_f16_f32_zero - gemm_f16_f32_zero_first
  st32    $S_LEFT, $S_STATE, $mzero, STATE_SECOND
  mov     $S_LEFT, $S_INNER
.Lf32_block:
  st32    $S_A_NOW, $S_STATE, $mzero, STATE_A
  st32    $S_A_NOW, $S_STATE, $mzero, OTHER + STATE_A
  LOAD_AND_RUN gemm_f16_f32, HALF_WEIGHTS
  ld32    $S_ENTRY, $S_STATE, $mzero, STATE_SECOND
  add     $S_STATE, $S_STATE, 4 * OTHER
  sync    TEXCH_SYNCZONE_LOCAL
  LOAD_AND_RUN gemm_f16_f32_other, HALF_WEIGHTS
  add     $S_STATE, $S_STATE, -4 * OTHER
  setzi   $S_ENTRY, gemm_f16_f32_accumulate
  add     $S_A_NOW, $S_A_NOW, $S_PANEL
  sync    TEXCH_SYNCZONE_LOCAL
  st32    $S_ENTRY, $S_STATE, $mzero, STATE_SECOND
  brnzdec $S_LEFT, .Lf32_block
  // The next 16 columns.
  brz     $S_COLUMN, .Lf32_done
  ld32    $S_LEFT, $S_STATE, $mzero, OTHER + STATE_BIAS
  ld32    $S_ENTRY, $S_STATE, $mzero, STATE_FIRST
  add     $S_C, $S_C, $S_PANEL
  add     $S_COLUMN, $S_COLUMN, -1
  add     $S_C, $S_C, $S_PANEL
  add     $S_LEFT, $S_LEFT, HALF_ROW
  add     $S_ENTRY, $S_ENTRY, gemm_f16_f32_zero - gemm_f16_f32_zero_first
  bri     .Lf32_column
.Lf32_done:
  br      $lr
  .size gemm_f16_f32, . - gemm_f16_f32

  STATES_OF gemm_f16_f32, 2, TO_SINGLES
  GEMM_FROM_ZERO gemm_f16_f32_zero, f16v4sisoamp, 6, c
  GEMM_WITH_PARTIALS gemm_f16_f32_accumulate, f16v4sisoamp, 6, c, AS_C, c
  GEMM_WITH_PARTIALS gemm_f16_f32_bias, f16v4sisoamp, 6, bias, AS_BIAS, c

// ---------------------------------------------------------------------------------------------
// Row-major results: the last block of inner elements is worked by workers that store elsewhere.
// ---------------------------------------------------------------------------------------------

#define S_Z m2

  SUPERVISOR_FUNCTION gemm_f16_rows
  setzi   $S_STATE, gemm_f16_rows_state
  put     $CCCSLOAD, $S_B
  mul     $S_ENTRY, $S_COLUMN, (CTXT_WORKERS * ROW_ATOMS) << 10
  st32    $S_LEFT, $S_STATE, $mzero, STATE_C
  st32    $S_Z, $S_STATE, $mzero, STATE_Z
  st32    $S_COLUMN, $S_STATE, $mzero, STATE_COLUMNS
  st32    $S_START, $S_STATE, $mzero, STATE_BIAS
  ldconst $S_LEFT, STRIDES_OF(NEXT_ROW(ROW_ATOMS), 0) - ((ROW_ATOMS - 1) << 10)
  add     $S_INNER, $S_INNER, -1
  add     $S_LEFT, $S_LEFT, $S_ENTRY
  add     $S_ENTRY, $S_ROWS, CTXT_WORKERS - 1
  add     $S_COLUMN, $S_COLUMN, -1
  st32    $S_LEFT, $S_STATE, $mzero, STATE_Z_STRIDES
  st32    $S_ENTRY, $S_STATE, $mzero, STATE_ROWS
  brnz    $S_INNER, .Lrows_in_two
  setzi   $S_ENTRY, gemm_f16_rows_only_zero_first
  brz     $S_START, .Lrows_chosen
  setzi   $S_ENTRY, gemm_f16_rows_only_bias_first
  bri     .Lrows_chosen
.Lrows_in_two:
  setzi   $S_ENTRY, gemm_f16_rows_zero_first
  brz     $S_START, .Lrows_chosen
  setzi   $S_ENTRY, gemm_f16_rows_bias_first
.Lrows_chosen:
  shr     $S_WIDE, $S_B, 19
  shl     $S_PANEL, $S_ROWS, A_ROW_LOG2
  st32    $S_ENTRY, $S_STATE, $mzero, STATE_FIRST
.Lrows_column:
  mov     $S_A_NOW, $S_A
  mov     $S_LEFT, $S_INNER
.Lrows_block:
  st32    $S_A_NOW, $S_STATE, $mzero, STATE_A
  LOAD_AND_RUN gemm_f16_rows, WEIGHTS
  add     $S_ENTRY, $S_LEFT, -1
  add     $S_A_NOW, $S_A_NOW, $S_PANEL
  sync    TEXCH_SYNCZONE_LOCAL
  brnz    $S_ENTRY, .Lrows_on_the_way
  setzi   $S_ENTRY, gemm_f16_rows_last
  brnzdec $S_LEFT, .Lrows_block
.Lrows_on_the_way:
  setzi   $S_ENTRY, gemm_f16_rows_accumulate
  brnzdec $S_LEFT, .Lrows_block
  // The next 16 columns.
  brz     $S_COLUMN, .Lrows_done
  ld32    $S_LEFT, $S_STATE, $mzero, STATE_BIAS
  ld32    $S_ENTRY, $S_STATE, $mzero, STATE_FIRST
  add     $S_Z, $S_Z, 32
  st32    $S_Z, $S_STATE, $mzero, STATE_Z
  add     $S_LEFT, $S_LEFT, 32
  add     $S_ENTRY, $S_ENTRY, gemm_f16_rows_zero - gemm_f16_rows_zero_first
  st32    $S_LEFT, $S_STATE, $mzero, STATE_BIAS
  add     $S_COLUMN, $S_COLUMN, -1
  bri     .Lrows_column
.Lrows_done:
  br      $lr
  .size gemm_f16_rows, . - gemm_f16_rows

  STATES_OF gemm_f16_rows, 1, TO_HALVES
  GEMM_FROM_ZERO gemm_f16_rows_zero, f16v4hihov4amp, 5, c
  GEMM_FROM_ZERO gemm_f16_rows_only_zero, f16v4hihov4amp, 5, z
  GEMM_WITH_PARTIALS gemm_f16_rows_accumulate, f16v4hihov4amp, 5, c, AS_C, c
  GEMM_WITH_PARTIALS gemm_f16_rows_last, f16v4hihov4amp, 5, c, AS_A, z
  GEMM_WITH_PARTIALS gemm_f16_rows_bias, f16v4hihov4amp, 5, bias, AS_BIAS, c
  GEMM_WITH_PARTIALS gemm_f16_rows_only_bias, f16v4hihov4amp, 5, bias, AS_BIAS, z

// gemm_f16: C[rows][16] += A[rows][16] * B[16][16] on halves, by the AMP's form of 16 channels.
//
// Supervisor:  $m2  C     16 halves a row, interleaved memory
//              $m3  A     16 halves a row, in other memory elements than C
//              $m4  B     channel by channel: 16 inputs for channel 0, then for channel 1, …
//              $m5  rows  at least 0
//              $lr  return address
//
// Six workers take consecutive rows each. Every step of the AMP shares its bundle with a load of
// what the next step needs and a store of what the step before the last one gave; so a row costs a
// worker four bundles. Beyond its rows a worker reads three atoms of A and seven of C, and never
// uses them.

#include "tile_defines.h"

#define STATE_C     0
#define STATE_A     1
#define STATE_ROWS  2
#define STATE_WORDS 3

// ---------------------------------------------------------------------------------------------
// Supervisor
// ---------------------------------------------------------------------------------------------

  .section .text.gemm_f16, "ax"
  .globl gemm_f16
  .type gemm_f16, @function
  .supervisor
  .align 8
DEF_STACK_USAGE 0 gemm_f16
gemm_f16:
  setzi   $m6, gemm_state
  st32    $m2, $m6, $mzero, STATE_C
  st32    $m3, $m6, $mzero, STATE_A
  st32    $m5, $m6, $mzero, STATE_ROWS
  setzi   $m7, gemm_worker
  // A step exchanges the partial sums of two units of each set. Channels 0, 1 go to the first set,
  // 2, 3 to the second, and so on, so that results leave in order.
  put     $CCCSLOAD, $m4
  .irp first, 0, 32, 8, 40, 16, 48, 24, 56
    .irp entry, 0, 2, 4, 6
      ld128putcs \first + \entry
    .endr
  .endr
  runall  $m7, $m6, 0
  sync    TEXCH_SYNCZONE_LOCAL
  br      $lr
  .size gemm_f16, . - gemm_f16

// ---------------------------------------------------------------------------------------------
// Workers
// ---------------------------------------------------------------------------------------------

#define WORKER m0
#define ROWS   m1
#define A_ROW  m2
#define C_ROW  m3
#define EXTRA  m4
#define FIRST  m5
#define ATOMS  m6:7

#define X      a0:1
#define PARTIAL a2:3
#define EVEN   a4:5
#define ODD    a6:7

#define ROW_BYTES_LOG2 5

// (1 << 18) / 6, rounded up: exact for every number of rows that fits into tile memory.
#define SIXTH ((1 << 18) + CTXT_WORKERS - 1) / CTXT_WORKERS

// A0: input, A1: partial sums, A2: results. Selector 1 with a stride of 0 stays.
#define LOAD_PARTIAL ld2x64pace $X, $PARTIAL, $ATOMS+=, $mzero, 0b0001
#define LOAD         ld2x64pace $X, $PARTIAL, $ATOMS+=, $mzero, 0b0000
#define LOAD_AND_STORE(result) ld2xst64pace $a0:3, result, $ATOMS+=, $mzero, 0b000000

  .section .text.gemm_worker, "ax"
  .type gemm_worker, @function
  .worker
  .align 8
DEF_STACK_USAGE 0 gemm_worker
gemm_worker:
  get     $WORKER, $WSR
  and     $WORKER, $WORKER, CSR_W_WSR__CTXTID_M1__MASK
  ld32    $ROWS, $mvertex_base, $mzero, STATE_ROWS
  ld32    $A_ROW, $mvertex_base, $mzero, STATE_A
  ld32    $C_ROW, $mvertex_base, $mzero, STATE_C

  // rows / 6 each, and one more for the first rows % 6 workers.
  setzi   $FIRST, SIXTH
  mul     $FIRST, $FIRST, $ROWS
  shr     $FIRST, $FIRST, 18
  mul     $EXTRA, $FIRST, CTXT_WORKERS
  sub     $EXTRA, $ROWS, $EXTRA
  cmpult  $ROWS, $WORKER, $EXTRA
  add     $ROWS, $ROWS, $FIRST
  brz     $ROWS, .Ldone
  mul     $FIRST, $FIRST, $WORKER
  min     $EXTRA, $EXTRA, $WORKER
  add     $FIRST, $FIRST, $EXTRA
  shl     $FIRST, $FIRST, ROW_BYTES_LOG2
  add     $A_ROW, $A_ROW, $FIRST
  add     $C_ROW, $C_ROW, $FIRST
  tapack  $ATOMS, $A_ROW, $C_ROW, $C_ROW
  add     $ROWS, $ROWS, -1
  setzi   $a0, 1 << CSR_W_FP_CLR__ZAACC__SHIFT
  uput    $FP_CLR, $a0

  // The partial sums of the first row go in while the input is 0.
  LOAD_PARTIAL
  { LOAD_PARTIAL ; f16v4hihov4amp $EVEN, $azeros, $PARTIAL, TAMP_F16V4_E4_P0 }
  { LOAD_PARTIAL ; f16v4hihov4amp $EVEN, $azeros, $PARTIAL, TAMP_F16V4_E4_P1 }
  { LOAD_PARTIAL ; f16v4hihov4amp $EVEN, $azeros, $PARTIAL, TAMP_F16V4_E4_P2 }
  { LOAD ; f16v4hihov4amp $EVEN, $azeros, $PARTIAL, TAMP_F16V4_E4_P3 }
  // The first row.
  { LOAD ; f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P0 }
  { LOAD ; f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P1 }
  { LOAD ; f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P2 }
  { LOAD ; f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P3 }
  // Its first two results leave.
  { LOAD ; f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P0 }
  { LOAD ; f16v4hihov4amp $ODD, $X, $PARTIAL, TAMP_F16V4_E4_P1 }

  .align 8
  {
    rpt   $ROWS, (.Lend - .Lloop) / 8 - 1
    fnop
  }
.Lloop:
  {
    LOAD_AND_STORE($EVEN)
    f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P2
  }
  {
    LOAD_AND_STORE($ODD)
    f16v4hihov4amp $ODD, $X, $PARTIAL, TAMP_F16V4_E4_P3
  }
  {
    LOAD_AND_STORE($EVEN)
    f16v4hihov4amp $EVEN, $X, $PARTIAL, TAMP_F16V4_E4_P0
  }
  {
    LOAD_AND_STORE($ODD)
    f16v4hihov4amp $ODD, $X, $PARTIAL, TAMP_F16V4_E4_P1
  }
.Lend:
  { st64pace $EVEN, $ATOMS+=, $mzero, 0 ; f16v4hihov4amp $EVEN, $azeros, $azeros, TAMP_F16V4_E4_P2 }
  { st64pace $ODD, $ATOMS+=, $mzero, 0 ; f16v4hihov4amp $ODD, $azeros, $azeros, TAMP_F16V4_E4_P3 }
  st64pace $EVEN, $ATOMS+=, $mzero, 0
  st64pace $ODD, $ATOMS+=, $mzero, 0
.Ldone:
  exitz   $mzero
  .size gemm_worker, . - gemm_worker

  .section .bss.gemm_f16, "aw", @nobits
  .align 4
  .type gemm_state, @object
gemm_state:
  .space 4 * STATE_WORDS
  .size gemm_state, . - gemm_state

compare holds tensors of two files against each other: exit codes 0, 1, 3 and 4 are different things.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o b.safetensors > /dev/null
  $ fp8moe compare a.safetensors:output b.safetensors > report.txt; echo $?
  1
  $ cat report.txt
  different: output differs from the reference: 11.98 % of 192 elements are identical, 115 lie more
  than 2 bf16 steps and 1e-6 of their row's largest magnitude away
  
  b.safetensors against a.safetensors: different
    output [3, 64] BF16: different
      identical      23 of 192 elements (11.9792 %); 169 differ, 115 far; 0 are zero on both sides
      bar sees       gain errors from -0.2 % and +0.2 %; all zeros: seen
      distance       rel-L2 0.0192, cosine 0.999819, gain 1.00228, calc_diff 0.000184, max abs 0.0508,
                     max rel 2.05
      FP8 steps      row grid: mean 1.25, median 0, p99 15, p99.9 130, largest 130
      bf16 steps     mean 171, median 3, p99 247, p99.9 31068, largest 31068
      upstream       21.75 FP8-ULP exceeds the bar of 2, 0 relative keeps that of 0.05; 0 % of the
                     elements lie below 2^-10, where that measure sees nothing
      other bars     upstream, 2 FP8 steps: fail (9 outside); assert_close 1e-3, 1e-3: fail (166
                     outside); calc_diff < 1e-3: pass; 85 % within 0.1 + 0.2 x: pass
      worst               row   column       expected         dumped   bf16    FP8  codes
                            2       29      -1.609375      -1.640625      4      0  FE FE
                            2       12     -0.1630859     -0.1396484     24      1  E3 E2
                            2       52      -1.140625      -1.164062      3      0  FA FA
                            2       27      0.1914062      0.2128906     22      2  65 67
                            1        7      0.6054688      0.5742188      8      1  6D 6C
                            1       20       1.132812       1.101562      4      0  74 74
                            1       23     -0.4550781     -0.4238281     16      1  EA E9
                            1       30       1.039062       1.007812      4      0  73 73
                            1       46       1.984375       2.015625      3      0  7B 7B
                            2       53      0.7382812      0.7578125      5      0  75 75
  $ fp8moe compare a.safetensors a.safetensors:output | head -n 3
  same: output is the same as the reference
  
  a.safetensors against a.safetensors: same
  $ fp8moe compare a.safetensors b.safetensors --format json -o report.json
  [1]
  $ query report.json reason dumps.0.file dumps.0.reference dumps.0.tensors.count dumps.0.tensors.0.name dumps.0.tensors.8.verdict
  output differs from the reference: 11.98 % of 192 elements are identical, 115 lie more than 2 bf16 steps and 1e-6 of their row's largest magnitude away
  b.safetensors
  a.safetensors
  9
  hidden_states
  different
  $ validate report.json
  report.json: fp8moe.report/1: valid
  $ fp8moe compare a.safetensors:output b.safetensors:topk_ids
  fp8moe: b.safetensors: tensor 'topk_ids': shapes [3, 64] and [3, 2] differ
  [3]
  $ fp8moe compare a.safetensors:nothing b.safetensors
  fp8moe: a.safetensors: there is no tensor 'nothing'
  [3]
  $ fp8moe compare a.safetensors nothing.safetensors
  fp8moe: nothing.safetensors: cannot open: no such file or folder (errno 2)
  [3]

The grid of FP8 steps can be chosen and is named.

  $ fp8moe compare a.safetensors:output b.safetensors --grid unscaled | grep FP8
      FP8 steps      unscaled grid: mean 0.625, median 0, p99 14, p99.9 22, largest 22
      upstream       21.75 FP8-ULP exceeds the bar of 2, 0 relative keeps that of 0.05; 0 % of the
      other bars     upstream, 2 FP8 steps: fail (9 outside); assert_close 1e-3, 1e-3: fail (166
      worst               row   column       expected         dumped   bf16    FP8  codes
  $ fp8moe compare a.safetensors:output b.safetensors --grid tensor | grep FP8
      FP8 steps      tensor grid: mean 1.31, median 0, p99 15, p99.9 130, largest 130
      upstream       21.75 FP8-ULP exceeds the bar of 2, 0 relative keeps that of 0.05; 0 % of the
      other bars     upstream, 2 FP8 steps: fail (9 outside); assert_close 1e-3, 1e-3: fail (166
      worst               row   column       expected         dumped   bf16    FP8  codes

A file's own name may hold a colon.

  $ cp a.safetensors a:output
  $ fp8moe compare a:output a:output:output | head -n 3
  same: output is the same as the reference
  
  a:output against a:output: same

Files of one tensor each need no names; files that share none have nothing to judge.

  $ fp8moe run a.safetensors -o one.safetensors > /dev/null
  $ edit_dump one.safetensors two.safetensors rename:output=custom
  $ fp8moe compare one.safetensors two.safetensors | head -n 1
  same: custom is the same as the reference
  $ edit_dump two.safetensors three.safetensors copy:custom=stock
  $ fp8moe compare one.safetensors three.safetensors
  inconclusive: nothing to judge: the files share no tensor name
  
  three.safetensors against one.safetensors: inconclusive
  [4]
  $ edit_dump one.safetensors four.safetensors shape:output=4x48
  $ fp8moe compare one.safetensors four.safetensors
  fp8moe: four.safetensors: tensor 'output': shapes [3, 64] and [4, 48] differ
  [3]

One file alone: a pair of upstream's, which verify holds against each other too.

  $ fp8moe compare data/legal/moecomb_T2_n1_r0.pt | head -n 4; echo ${PIPESTATUS[0]}
  different: custom differs from the reference: 75 % of 4 elements are identical, 1 lie more than 2
  bf16 steps and 1e-6 of their row's largest magnitude away
  
  data/legal/moecomb_T2_n1_r0.pt against data/legal/moecomb_T2_n1_r0.pt: different
  1
  $ fp8moe verify data/legal/moecomb_T2_n1_r0.pt | head -n 4; echo ${PIPESTATUS[0]}
  different: custom differs from the reference: 75 % of 4 elements are identical, 1 lie more than 2
  bf16 steps and 1e-6 of their row's largest magnitude away
  
  data/legal/moecomb_T2_n1_r0.pt: different
  1
  $ fp8moe compare a.safetensors
  fp8moe: a.safetensors: there is no tensor 'stock'
  [3]

Bare numbers against a file of tensors; zeros look like the start of a safetensors file.

  $ python3 -c "import struct; open('bare.bin', 'wb').write(struct.pack('<4f', 1, -2.5, 0.5, 4))"; fp8moe compare bare.bin data/legal/moecomb_T2_n1_r0.pt:stock --dtype f32 --shape 2x2 | head -n 1
  same: stock is the same as the reference
  $ fp8moe inspect bare.bin --tensor x --dtype bf16 --shape 2x2x2 | head -n 2
  bare.bin: raw, 1 tensors
  x [2, 2, 2] BF16
  $ head -c 16 /dev/zero > zero.bin; fp8moe inspect zero.bin --dtype f32 --shape 4 | head -n 2
  zero.bin: raw, 1 tensors
  tensor [4] F32
  $ fp8moe inspect bare.bin --dtype f32 --shape 3
  fp8moe: bare.bin: tensor 'tensor': 16 bytes, but [3] of F32 takes 12
  [3]
  $ fp8moe inspect bare.bin --dtype f32
  fp8moe: --dtype needs --shape as 4x512: bare numbers have none
  [2]
  $ fp8moe inspect bare.bin --dtype float --shape 4
  bare.bin: raw, 1 tensors
  tensor [4] F32
    values         amax 4, 0 NaN, 0 Inf, 0 zero, 0 % below 2^-10
  $ fp8moe inspect bare.bin
  fp8moe: bare.bin: is no file of tensors: neither safetensors, npy, npz nor a zip-based .pt (byte 0)
  [3]

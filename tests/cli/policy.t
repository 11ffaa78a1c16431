Policies: what counts as the same. Case L04: a match, a mismatch and "could not check" are three different things.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe compare a.safetensors:output a.safetensors:output --policy ulp:2 | head -n 2
  same: output is the same as the reference (policy ulp:2)
  
  $ python3 -c "import struct; open('x.bin', 'wb').write(struct.pack('<8f', *[1, 2, 3, 4, 5, 6, 7, 8]))"
  $ python3 -c "import struct; open('y.bin', 'wb').write(struct.pack('<8f', *[1, 2, 3, 4, 5, 6, 7, 11]))"
  $ python3 -c "import struct; open('nan.bin', 'wb').write(struct.pack('<8f', *[1, 2, 3, 4, 5, 6, 7, float('nan')]))"
  $ fp8moe compare x.bin x.bin --dtype f32 --shape 1x8 --policy upstream | head -n 1
  same: tensor is the same as the reference (policy upstream)
  $ fp8moe compare x.bin y.bin --dtype f32 --shape 1x8 --policy upstream > out; echo $?; head -n 2 out
  1
  different: tensor differs from the reference: 3 FP8-ULP against a bar of 2, 0 relative against 0.05
  out of range (policy upstream)
  $ fp8moe compare x.bin y.bin --dtype f32 --shape 1x8 --policy ulp:2 > out; echo $?; head -n 2 out
  1
  different: tensor differs from the reference: 4 FP8 steps on the row grid against a bar of 2 (policy
  ulp:2)
  $ fp8moe compare x.bin missing.bin --dtype f32 --shape 1x8 --policy upstream
  fp8moe: missing.bin: cannot open: no such file or folder (errno 2)
  [3]
  $ fp8moe compare x.bin nan.bin --dtype f32 --shape 1x8 --policy upstream > out; echo $?
  1
  $ fp8moe compare x.bin nan.bin --dtype f32 --shape 1x8 --policy ulp:2 > out; echo $?; head -n 2 out
  1
  different: tensor differs from the reference: 1 of 8 elements are NaN or Inf on one side only, the
  first at row 0, column 7 (policy ulp:2)

A pass that all zeros, or values half or twice as large, would have got too says nothing: tensors of 1e-6, compared unscaled, and a bar nothing exceeds.

  $ python3 -c "import struct; open('tiny.bin', 'wb').write(struct.pack('<8f', *[1e-6] * 8))"
  $ fp8moe compare tiny.bin tiny.bin --dtype f32 --shape 1x8 --policy upstream --grid unscaled > out; echo $?; head -n 2 out; grep 'bar sees' out
  4
  inconclusive: tensor passes policy upstream, but so would all zeros, or values half or twice as
  large
      bar sees       no gain error; all zeros: not seen
  $ fp8moe compare x.bin y.bin --dtype f32 --shape 1x8 --policy ulp:300 > out; echo $?; head -n 2 out
  4
  inconclusive: tensor passes policy ulp:300, but so would all zeros, or values half or twice as large
  
  $ fp8moe compare x.bin y.bin --dtype f32 --shape 1x8 --policy ulp:300 --inconclusive fail > /dev/null; echo $?
  1
  $ fp8moe compare x.bin y.bin --dtype f32 --shape 1x8 --policy ulp:300 --inconclusive pass > /dev/null; echo $?
  0

The same for verify; upstream's own answer stands in the report whatever the policy.

  $ fp8moe verify a.safetensors --policy upstream --format json -o report.json; echo $?
  0
  $ query report.json verdict dumps.0.tensors.0.policy dumps.0.tensors.0.upstream_verdict
  same
  upstream
  same
  $ validate report.json
  report.json: fp8moe.report/1: valid

A file holds a rule a tensor; the first that matches wins, and where none does the policy is strict.

  $ printf -- '- {match: "out*", policy: "ulp:4"}\n- {match: "*", policy: strict}\n' > policy.yaml
  $ fp8moe compare a.safetensors:output a.safetensors:output --policy policy.yaml | head -n 2
  same: output is the same as the reference (policy ulp:4)
  
  $ fp8moe compare a.safetensors:hidden_states a.safetensors:hidden_states --policy policy.yaml | head -n 1
  same: hidden_states is the same as the reference
  $ printf -- '- {match: "out*", policy: loose}\n' > policy.yaml; fp8moe compare a.safetensors a.safetensors --policy policy.yaml
  fp8moe: policy.yaml: line 1, column 27: policy 'loose': strict, upstream or ulp:N with N at least 0
  [3]
  $ printf -- '- {match: "out*", tolerance: 3}\n' > policy.yaml; fp8moe compare a.safetensors a.safetensors --policy policy.yaml
  fp8moe: policy.yaml: line 1, column 30: unknown key 'tolerance'
  [3]
  $ fp8moe compare a.safetensors a.safetensors --policy loose
  fp8moe: --policy 'loose': expected strict, upstream, ulp:N with N at least 0, or a .yaml file
  [2]
  $ fp8moe verify a.safetensors --inconclusive maybe
  fp8moe: --inconclusive 'maybe': expected fail or pass
  [2]
  $ fp8moe verify a.safetensors --rows 3
  fp8moe: --rows '3': expected A..B with A at most B
  [2]

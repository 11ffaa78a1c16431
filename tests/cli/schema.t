The validator of these tests does reject: a key too many, one too few, a wrong type, a value out of range.

  $ fp8moe synth --shape T=1,E=2,K=1,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ fp8moe verify a.safetensors --format json > report.json; validate report.json
  report.json: fp8moe.report/1: valid
  $ sed 's/"padding": 0/"paddings": 0/' report.json > broken.json; validate broken.json
  broken.json: fp8moe.report/1: $.dumps[0].tensors[0]: unknown key paddings
  [1]
  $ sed 's/"command": "verify"/"command": "verfy"/' report.json > broken.json; validate broken.json
  broken.json: fp8moe.report/1: $.command: 'verfy' is none of ['verify', 'compare']
  [1]
  $ sed 's/"count": 64/"count": "64"/' report.json > broken.json; validate broken.json
  broken.json: fp8moe.report/1: $.dumps[0].tensors[0].count: '64' is not integer
  [1]
  $ sed 's/"identical_share": 1/"identical_share": 2/' report.json > broken.json; validate broken.json
  broken.json: fp8moe.report/1: $.dumps[0].tensors[0].identical_share: 2 is above 1
  [1]
  $ sed 's/"seconds": .*,/"seconds": null,/' report.json > broken.json; validate broken.json
  broken.json: fp8moe.report/1: $.timing.seconds: None is not number
  [1]

Every kind of report that the program knows the name of has its schema.

  $ grep -aoh 'fp8moe\.[a-z]*/1' $(command -v fp8moe) | sort -u | while read name; do kind=${name#fp8moe.}; test -f data/${kind%/1}.schema.json && echo ok || echo no schema: $name; done | sort -u
  ok

Those that no other case validates.

  $ fp8moe route a.safetensors --format json -o route.json; validate route.json
  route.json: fp8moe.route/1: valid
  $ edit_dump a.safetensors b.safetensors 'set:topk_weights[0]=0000c07f'; fp8moe route b.safetensors --format json -o route.json; validate route.json; query route.json verdict
  route.json: fp8moe.route/1: valid
  different

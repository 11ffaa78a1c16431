The validator of these tests does reject: a key too many, one too few, a wrong type, a value out of range.

  $ fp8moe synth --shape T=1,E=2,K=1,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ fp8moe verify a.safetensors --format json > report.json; validate report.json
  $ sed 's/"padding": 0/"paddings": 0/' report.json > broken.json; validate broken.json
  $ sed 's/"command": "verify"/"command": "verfy"/' report.json > broken.json; validate broken.json
  $ sed 's/"count": 64/"count": "64"/' report.json > broken.json; validate broken.json
  $ sed 's/"identical_share": 1/"identical_share": 2/' report.json > broken.json; validate broken.json
  $ sed 's/"seconds": .*,/"seconds": null,/' report.json > broken.json; validate broken.json

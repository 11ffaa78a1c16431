File names may hold any byte, JSON may not: quotes and controls are escaped, stray bytes become U+FFFD.

  $ fp8moe synth --shape T=1,E=2,K=1,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ cp a.safetensors $'q"\\t\x01\xff\xc3\xa9\xed\xa0\x80\xe0\x80\x80\xe2\x82(\xf0\x8f\xbf\xbf\xf5.safetensors'
  $ fp8moe verify q*.safetensors --format json -o report.json; query report.json dumps.0.verdict; grep -m 1 '"file"' report.json
  same
        "file": "q\"\\t\u0001\ufffdé\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd(\ufffd\ufffd\ufffd\ufffd\ufffd.safetensors",
  $ validate report.json
  report.json: fp8moe.report/1: valid

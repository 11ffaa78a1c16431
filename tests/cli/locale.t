A locale with a decimal comma changes neither what is read nor what is written.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 --routed-scaling-factor 2.5 -o a.safetensors > /dev/null
  $ env LC_ALL=de_DE.UTF-8 fp8moe verify a.safetensors --routed-scaling-factor 2.5 --format json > report.json; query report.json verdict dumps.0.settings.routed_scaling_factor
  same
  {"value": 2.5, "source": "option"}
  $ env LC_ALL=de_DE.UTF-8 fp8moe verify a.safetensors --routed-scaling-factor 2,5
  fp8moe: --routed-scaling-factor '2,5': expected a finite number
  [2]

run writes the output, or every stage; each has a hash that verify reports too.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe stock --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe run a.safetensors -o out.safetensors
  $ fp8moe compare a.safetensors:output out.safetensors | head -n 1
  $ fp8moe run a.safetensors --stages -o stages.safetensors --format json > run.json
  $ fp8moe inspect stages.safetensors | grep -v '^ '
  $ validate run.json
  $ fp8moe verify a.safetensors --format json > report.json
  $ for i in 0 4 9; do name=$(query run.json tensors.$i.name); echo $name $(query run.json tensors.$i.sha256 | cut -c 1-16) $(query report.json dumps.0.stages.$name | cut -c 1-16); done
  $ fp8moe inspect out.safetensors | grep -e recipe -e target

A stage the dump holds is compared by name; its share does not decide the verdict.

  $ join_dumps a.safetensors stages.safetensors both.safetensors act_codes act_scale up_gate
  $ fp8moe verify both.safetensors | grep dumped
  $ edit_dump both.safetensors moved.safetensors 'set:act_codes[0]=0102'
  $ fp8moe verify moved.safetensors --format json > report.json
  $ query report.json verdict dumps.0.dumped_stages.1
  $ validate report.json

--from takes it from the dump instead of computing it.

  $ fp8moe verify moved.safetensors --from act_codes > report.txt; echo $?
  $ grep act_codes report.txt | cut -c 1-60
  $ fp8moe verify both.safetensors --from act_codes --from act_scale | head -n 1
  $ fp8moe verify both.safetensors --from x_codes
  $ edit_dump both.safetensors wrong.safetensors shape:act_codes=3x64
  $ fp8moe verify wrong.safetensors

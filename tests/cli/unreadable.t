Inputs that cannot be read: one sentence with its place, exit code 3.

  $ fp8moe verify nothing.safetensors
  $ fp8moe inspect data
  $ head -c 100 /dev/zero > zero.safetensors; fp8moe inspect zero.safetensors
  $ : > empty.safetensors; fp8moe inspect empty.safetensors
  $ fp8moe synth --shape T=1,E=2,K=1,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ head -c 9000 a.safetensors > short.safetensors; fp8moe verify short.safetensors
  $ edit_dump a.safetensors b.safetensors drop:w13_weight_scale_inv; fp8moe verify b.safetensors
  $ edit_dump a.safetensors b.safetensors drop:hidden_states; fp8moe verify b.safetensors
  $ edit_dump a.safetensors b.safetensors 'set:topk_ids[0]=07'; fp8moe verify b.safetensors

With one dump unreadable the others are judged still; alone it leaves no report.

  $ fp8moe verify nothing.safetensors a.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  $ fp8moe verify nothing.safetensors -o report.txt; ls report.txt

A report that cannot be written is an error too.

  $ fp8moe inspect a.safetensors -o nowhere/report.txt
  $ fp8moe run a.safetensors -o nowhere/out.safetensors
  $ fp8moe recipes > /dev/full

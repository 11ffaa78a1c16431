What one recipe computed is never the same as another recipe, but by an open axis that is named. Lines: computed under, judged under, exit code.

  $ for a in gather stock stock-hp stock-eager dense dequant exact; do fp8moe synth --shape T=6,E=16,K=4,H=512,I=256 --seed 5 --noise 2 --target gaudi2 --recipe $a -o $a.safetensors > /dev/null; done
  $ for a in gather stock stock-hp stock-eager dense dequant exact; do for b in gather stock stock-hp stock-eager dense dequant exact; do fp8moe verify $a.safetensors --recipe $b > $a.$b; echo $a $b $?; done; done | grep ' 0$'
  gather gather 0
  stock stock 0
  stock-hp stock 0
  stock-hp stock-hp 0
  stock-eager stock-eager 0
  dense dense 0
  dequant dequant 0
  exact exact 0
  $ head -n 2 stock-hp.stock
  same: output is the same as recipe stock (evidence: inferred) with intermediate kept in bf16 (an
  open axis): every row is identical
  $ head -n 3 gather.stock-hp
  inconclusive: output cannot be told from recipe stock-hp (evidence: assumed): 6 rows differ by no
  more than noise might, but recipe gather lies nearer: a rounding point may have moved
  

Nothing of a row of one's own makes the search for scales walk doubles one by one.

  $ printf 'recipes:\n  mine: {based_on: stock-eager, with: {product: none}}\nlayers:\n  - files: stock.safetensors\n    recipe: mine\n' > mine.yaml
  $ fp8moe synth --shape T=1,E=2,K=1,H=128,I=128 --recipe stock --target ocp -o stock.safetensors > /dev/null
  $ fp8moe verify mine.yaml > out; echo $?
  1

Every row with its columns, evidence and open axes.

  $ fp8moe recipes | grep -e '^target' -e '^recipe'
  $ fp8moe recipes static-moe
  $ fp8moe recipes custom | head -n 1
  $ fp8moe recipes | awk 'length > 100'
  $ fp8moe recipes --format json > recipes.json
  $ query recipes.json targets.0 recipes.0.columns.scale recipes.0.open_axes.0
  $ validate recipes.json

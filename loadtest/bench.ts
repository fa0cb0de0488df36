/**
 * `npm run bench -- match|pipeline|…`: a benchmark beside its peer or floor. Each prints one line
 * per figure: name, ours, theirs, ratio. A bench named `x` is `x/bench.ts` and exports `benchX`.
 */
import fs from 'node:fs'
import path from 'node:path'

const [name = '', ...argv] = process.argv.slice(2)
const known = fs
  .readdirSync(import.meta.dirname)
  .filter(each => fs.existsSync(path.join(import.meta.dirname, each, 'bench.ts')))

if (known.includes(name)) {
  const module: Record<string, unknown> = await import(`./${name}/bench.ts`)
  const bench = module[`bench${name.charAt(0).toUpperCase()}${name.slice(1)}`]
  if (typeof bench !== 'function') throw new Error(`expected ${name}/bench.ts to export its bench`)
  await bench(argv)
} else {
  process.stderr.write(`expected one of ${known.join(', ')}, got "${name}"\n`)
  process.exitCode = 2
}

/** The gate of every CI run: many seeds, no violation, everything reached, one hash a seed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runSeed } from './run-seed.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const SEEDS = 300
const EVENTS = 300

describe('simulation', () => {
  test('I20 the same seed gives the same trace', async () => {
    for (const seed of [1, 2, 3]) {
      const first = await runSeed({ seed, events: 60 })
      const second = await runSeed({ seed, events: 60 })
      assert.equal(second.hash, first.hash, `seed ${seed}`)
    }
  })

  test('different seeds give different traces', async () => {
    const hashes = await Promise.all([11, 12].map(async seed => (await play(seed)).hash))
    assert.notEqual(hashes[0], hashes[1])
  })

  test('a world without faults keeps every promise', async () => {
    const { violations } = await runSeed({ seed: 5, events: 100, isFaultless: true })
    assert.deepEqual(violations, [])
  })

  test(`I1 to I19 hold in ${SEEDS} seeds of ${EVENTS} events, all reached`, async () => {
    const args = ['--seeds', SEEDS, '--first', 1, '--events', EVENTS, '--workers', 2].map(String)
    const { status, output } = await sim([...args, '--coverage'])
    assert.equal(status, 0, output.slice(-20_000))
    assert.match(output, new RegExp(`${SEEDS} seeds, 0 violations\\n$`))
  })
})

const play = (seed: number) => runSeed({ seed, events: 30 })

/** Runs the command in a process of its own. */
async function sim(args: string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', chunk => {
    output += String(chunk)
  })
  const status = await new Promise<number | null>(resolve => child.once('close', resolve))
  return { status, output }
}

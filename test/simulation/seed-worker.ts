/** Runs seeds one after the other in a thread of its own. */
import { parentPort } from 'node:worker_threads'
import { BUGS } from './bugs/all-bugs.ts'
import { runSeed } from './run-seed.ts'

interface Order {
  seed: number
  events: number
  bug: string | undefined
  isFaultless: boolean
}

parentPort?.on('message', async ({ seed, events, bug, isFaultless }: Order) => {
  const planted = BUGS.find(({ name }) => name === bug)
  parentPort?.postMessage(await runSeed({ seed, events, isFaultless, bug: planted }))
})

/** Runs seeds one after the other in a thread of its own. */
import { parentPort } from 'node:worker_threads'
import type { SeedOrder } from './sim-world.ts'
import { WORLDS } from './worlds.ts'

parentPort?.on('message', async ({ world, ...order }: SeedOrder & { world: string }) => {
  const played = WORLDS.find(({ name }) => name === world)
  parentPort?.postMessage(await played?.run(order))
})

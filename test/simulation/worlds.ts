/** Every kind of world that `npm run sim` plays. */

import { AGENTS } from './agent/agents.ts'
import { BUGS } from './bugs/all-bugs.ts'
import { wanted } from './coverage.ts'
import { MEANING } from './meaning/meaning.ts'
import { runSeed } from './run-seed.ts'
import { SCHEDULES } from './schedules/schedules.ts'
import type { SimWorld } from './sim-world.ts'

export const PIPELINE: SimWorld = {
  name: 'pipeline',
  meaning: 'events, webhooks and edits from the door to the settled message',
  bugs: BUGS,
  wanted,
  run: ({ bug, ...order }) => runSeed({ ...order, bug: BUGS.find(({ name }) => name === bug) }),
}

export const WORLDS: readonly SimWorld[] = [PIPELINE, SCHEDULES, MEANING, AGENTS]

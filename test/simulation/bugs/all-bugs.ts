/** Every planted bug, by name. */
import type { Bug } from '../world.ts'
import { LOG_BUGS } from './log-bugs.ts'
import { STORE_BUGS } from './store-bugs.ts'

export const BUGS: readonly Bug[] = [...STORE_BUGS, ...LOG_BUGS]

/** Every planted bug of this world, by name. */
import { JUDGE_BUGS } from './judge-bugs.ts'
import type { MeaningBug } from './meaning-world.ts'
import { MONEY_BUGS } from './money-bugs.ts'
import { POLLER_BUGS } from './poller-bugs.ts'

export const MEANING_BUGS: readonly MeaningBug[] = [...JUDGE_BUGS, ...MONEY_BUGS, ...POLLER_BUGS]

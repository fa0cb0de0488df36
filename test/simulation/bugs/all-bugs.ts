/** Every planted bug, by name. */
import type { Bug } from './bug.ts'

export const BUGS: readonly Bug[] = []

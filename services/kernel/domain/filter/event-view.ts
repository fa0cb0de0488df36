import { type CelVariables, celVariables } from '../cel.ts'
import type { CloudEvent } from '../event.ts'

/** One event as filters see it; what CEL needs is prepared once, for all filters together. */
export interface EventView {
  readonly event: CloudEvent
  /** The attributes by name, `data`, and `event`, the map of them all. */
  celVariables(): CelVariables
}

/** Views an event; the event must not change while the view is in use. */
export function viewEvent(event: CloudEvent): EventView {
  let prepared: CelVariables | undefined
  return {
    event,
    celVariables() {
      prepared ??= celVariables({ ...event, event })
      return prepared
    },
  }
}

/** What a judge reads of each candidate that waits for a verdict. */
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { judgeItemOf } from '#services/evaluator/judge/judge-item.ts'
import type { World } from '../world.ts'

export interface TextBook {
  textOf(world: World, candidateId: string): string | undefined
}

export function createTextBook(): TextBook {
  const texts = new Map<string, string>()
  let read = 0
  return {
    textOf({ history, codec }, candidateId) {
      const written = history.of('evaluations')
      for (; read < written.length; read++) {
        const value = written[read]?.record.value
        if (!value) continue
        try {
          const { candidateId: id, event } = codec.decode('candidate', value)
          if (event) texts.set(id, judgeItemOf(toCloudEvent(event)).text)
        } catch {
          // A planted record that nobody can read.
        }
      }
      return texts.get(candidateId)
    },
  }
}

/** What a judge reads of each candidate that waits for a verdict. */
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { readable } from '#kernel/domain/readable.ts'
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
        const candidate = value && readable(() => codec.decode('candidate', value))
        if (!candidate?.event) continue
        texts.set(candidate.candidateId, judgeItemOf(toCloudEvent(candidate.event)).text)
      }
      return texts.get(candidateId)
    },
  }
}

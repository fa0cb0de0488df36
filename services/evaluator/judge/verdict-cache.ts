/**
 * Keys under which verdicts are found again: the same text judged for the same criterion by the
 * same model is never paid for twice. Only valid verdicts are kept, within their tenant.
 */
import { hashId } from '#kernel/domain/ids.ts'
import type { JudgeItem } from './judge-item.ts'
import { PROMPT_VERSION } from './prompt.ts'
import type { ValidVerdict } from './validate-verdicts.ts'

/** How long a verdict is remembered after it was given, ms: 30 days. */
export const VERDICT_TTL_MS = 30 * 86_400_000

/** What a document of the cache holds. */
export interface CachedVerdict {
  verdict: ValidVerdict
  /** When it was given, ms since the epoch. */
  at: number
}

/** Document of a verdict about one item, or about a set of them in their order. */
export function verdictKey(
  criterion: string,
  items: readonly Pick<JudgeItem, 'digest'>[],
  model: string,
): string {
  const digests = items.map(({ digest }) => digest)
  return `verdict/${hashId('d', criterion, PROMPT_VERSION, model, ...digests)}`
}

/** Id of a verdict: candidate, criterion and model. */
export function verdictIdOf(
  tenant: string,
  verdict: { candidateId: string; criterion: string; model: string },
): string {
  const { candidateId, criterion, model } = verdict
  return hashId('v', tenant, candidateId, criterion, model)
}

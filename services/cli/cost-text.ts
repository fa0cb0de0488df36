import type { RunUsage } from '#services/client/api-subscription.ts'

/** What judging took, as people say it: `2 calls, 350 tokens, 0.01 of the tenant's currency`. */
export function costText({
  calls = 0,
  inputTokens = 0,
  outputTokens = 0,
  cost = '0',
}: RunUsage): string {
  if (calls === 0) return 'nothing: no model is asked'
  const tokens = inputTokens + outputTokens
  const money =
    cost === '0' ? 'and no money by the price table' : `${cost} of the tenant's currency`
  return `${counted(calls, 'call')}, ${counted(tokens, 'token')}, ${money}`
}

/** `1 call`, `2 calls`. */
export function counted(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

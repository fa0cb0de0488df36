/** Reads what the installation wrote into its log, from the beginning and on. */
import type { Cluster } from '#test/support/cluster.ts'
import { followTopics } from './follow-topics.ts'
import type { Ledger } from './ledger.ts'

export interface LogMirror {
  /** Resolves when everything written before the call is in the ledger. */
  barrier(): Promise<void>
  /** Records that the consumer groups have not finished, by group. */
  lag(): Promise<Record<string, number>>
  stop(): Promise<void>
}

const GROUPS: Record<string, string[]> = {
  match: ['ingress.platform'],
  guard: ['candidates', 'outcomes'],
  'mailbox-dispatcher': ['mailbox'],
}

/** Follows decisions, messages and transitions into the ledger. */
export async function mirrorLog(cluster: Cluster, ledger: Ledger): Promise<LogMirror> {
  const { log, barrier, stop } = await followTopics(cluster, {
    decisions: ledger.decision,
    mailbox: ledger.message,
    'mailbox.state': ledger.transition,
  })
  return {
    ...{ barrier, stop },
    async lag() {
      const found: Record<string, number> = {}
      for (const [group, topics] of Object.entries(GROUPS)) {
        const lags = await log.lag(group, topics)
        found[group] = lags.reduce((sum, { lag }) => sum + lag, 0)
      }
      return found
    },
  }
}

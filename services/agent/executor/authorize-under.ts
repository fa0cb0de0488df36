import { isClientError } from '#services/client/client-error.ts'
import type { WorkContext } from '#services/client/handle-message.ts'
import { LeaseLost } from '../loop/lease-lost.ts'
import type { ToolEffect } from '../tools/dispatch-tool.ts'

/** Asks the mailbox right before an effect; a lease that is over ends the run. */
export function authorizeUnder(context: Pick<WorkContext, 'authorize'>) {
  return async (effect: ToolEffect): Promise<{ allowed: boolean; reason: string }> => {
    try {
      return await context.authorize(effect)
    } catch (error) {
      if (isClientError(error) && error.code === 'stale-lease') throw new LeaseLost()
      throw error
    }
  }
}

import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { emitUsage } from './mailbox-outputs.ts'
import type { MessageDocument } from './message-document.ts'
import type { Run } from './run-result.ts'

/** What charging needs to know of the tenant. */
export interface ChargeRules {
  /** Zone of the tenant's calendar day. */
  zone: string
}

/** Writes down what an attempt cost. It is over, so nothing can be refused any more. */
export function chargeRun(
  unit: UnitOfWork,
  doc: MessageDocument,
  run: Run,
  rules: ChargeRules,
): void {
  emitUsage(unit, doc, { run, zone: rules.zone })
}

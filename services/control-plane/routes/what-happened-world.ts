/** What the routes about the past need from around them. */

import type { AskAnswer } from '#kernel/domain/ask.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Authenticate } from '#kernel/host/authenticate.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { DeadLetter } from '#schemas/generated/records.ts'
import type { ReadModel } from '../read-model/read-model.ts'

export interface WhatHappenedWorld {
  authenticate: Authenticate
  model: ReadModel
  directory: Directory
  tables: LiveTables
  clock: Clock
  logger: Logger
  /**
   * Appends a document of kind `notice-ack` with this id and `doc {by}` to `policies`; resolves
   * when it is durable. Once per notice is enough.
   */
  acknowledge(tenant: string, id: string, by: Principal): Promise<void>
  /** Appends a document of kind `event-erasure` with `doc {by, source, eventId}` to `policies`. */
  recordErasure(tenant: string, event: { source: string; id: string }, by: Principal): Promise<void>
  /** Appends a person's answer for the judge; resolves when it is durable. */
  answerAsk(
    ask: { tenant: string; subscription: string; candidateId: string },
    answer: AskAnswer,
  ): Promise<void>
  /** Appends the record to the topic it came from, key, value and headers as they were. */
  redrive(letter: DeadLetter): Promise<void>
  /** Planes and services, and how far behind each is. */
  system(): Promise<Record<string, unknown>>
  /** The tenant whose operators see dead letters that name no tenant. */
  operatorTenant?: string
}

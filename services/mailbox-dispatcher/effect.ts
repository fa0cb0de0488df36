/** Something a run wants to do to the world, asked for before it is done. */
import { z } from 'zod'

export const effectSchema = z.strictObject({
  tool: z.string().min(1).max(256),
  /** `read` looks, `write` changes, `sensitive` needs the control plane to be alive. */
  class: z.enum(['read', 'write', 'sensitive']),
  /** A way out for data: mail, chat, upload. */
  egress: z.boolean().default(false),
  target: z.string().max(1024).optional(),
})

export type Effect = z.output<typeof effectSchema>

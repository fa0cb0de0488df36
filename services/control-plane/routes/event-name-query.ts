import { z } from 'zod'

/** `?source=&id=`: the identity of one event. */
export const eventNameQuery = z.strictObject({
  source: z.string().min(1).max(2048),
  id: z.string().min(1).max(2048),
})

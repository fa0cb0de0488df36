import { z } from 'zod'

/** Name of a header in lower case (RFC 9110 section 5.1: names have no case). */
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'a header name')
  .transform(name => name.toLowerCase())

/** `env:NAME`, `file:PATH`, or the secret itself, which is stored encrypted. */
const secret = z.string().min(1).max(4096)

/** A CEL expression over `body` and `headers`, at most 1 kB. */
const celExpression = z.string().min(1).max(1024)

/** How a delivery proves where it comes from. `none` is refused unless configuration allows it. */
export const verificationSchema = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('standard-webhooks'), secret }),
  z.strictObject({ scheme: z.literal('github'), secret }),
  z.strictObject({ scheme: z.literal('stripe'), secret }),
  z.strictObject({ scheme: z.literal('slack'), secret }),
  z.strictObject({
    scheme: z.literal('hmac'),
    secret,
    header: headerName,
    algorithm: z.enum(['sha256', 'sha512']),
    encoding: z.enum(['hex', 'base64']),
    /** What stands before the digest in the header, such as `sha256=`. */
    prefix: z.string().min(1).max(64).optional(),
    /**
     * Header with the time of signing in whole seconds; then `<seconds>.<body>` is signed, and
     * five minutes either way are allowed. Without it the body alone is signed.
     */
    timestampHeader: headerName.optional(),
  }),
  z.strictObject({ scheme: z.literal('bearer'), secret }),
  z.strictObject({ scheme: z.literal('none') }),
])

export type Verification = z.infer<typeof verificationSchema>

/** CEL expressions that give attributes of the event; what is not mapped has a default. */
const sourceMapSchema = z.strictObject({
  type: celExpression.optional(),
  subject: celExpression.optional(),
  id: celExpression.optional(),
  dedupKey: celExpression.optional(),
})

export type SourceMap = z.infer<typeof sourceMapSchema>

/** Body of `PUT /v1/sources/{name}`. */
export const sourceSchema = z.strictObject({
  kind: z.literal('webhook'),
  verification: verificationSchema,
  map: sourceMapSchema.optional(),
  /** Token bucket of the endpoint. */
  rateLimit: z
    .strictObject({
      perSecond: z.number().positive().max(10_000),
      burst: z.int().positive().max(100_000),
    })
    .optional(),
  /** How far its content is believed; it is marked untrusted in messages either way. */
  trust: z.enum(['untrusted', 'trusted']).optional(),
})

export type Source = z.infer<typeof sourceSchema>

/** Name of a source: it stands in a path, in `source` and in `type`. */
export const sourceNameSchema = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/, 'lower-case letters, digits, dots, - and _')

/** Members that hold a secret, sealed or hashed: history shows that they changed, never what. */
const SECRET_NAMES = new Set(['secret', 'secretHash'])

const HIDDEN = '(hidden)'

/** A copy in which every secret, and every change of one, reads `(hidden)`. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  const { pointer } = value as { pointer?: unknown }
  const isSecret = typeof pointer === 'string' && SECRET_NAMES.has(pointer.split('/').at(-1) ?? '')
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isHidden = SECRET_NAMES.has(name) || (isSecret && name !== 'pointer')
      return [name, isHidden ? HIDDEN : withoutSecrets(inner)]
    }),
  )
}

import type { Verification } from '#kernel/domain/source.ts'
import { verifyBearer } from './bearer.ts'
import { verifyGithub } from './github.ts'
import { verifyHmac } from './hmac.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'
import { verifySlack } from './slack.ts'
import { verifyStandardWebhooks } from './standard-webhooks.ts'
import { verifyStripe } from './stripe.ts'

/**
 * Judges a delivery by its source's scheme, over the raw bytes, before anything reads them (I17).
 * `secrets` are resolved values, several during a rotation; an empty one never holds, because
 * everybody knows it. A refusal is a 401 whatever its reason.
 */
export function verifyWebhook(
  verification: Verification,
  secrets: readonly string[],
  delivery: Delivery,
): SignatureCheck {
  if (verification.scheme === 'none') return { ok: true }
  const usable = secrets.filter(secret => secret !== '')
  if (usable.length === 0) return refuse('unusable-secret')
  switch (verification.scheme) {
    case 'standard-webhooks':
      return verifyStandardWebhooks(usable, delivery)
    case 'github':
      return verifyGithub(usable, delivery)
    case 'stripe':
      return verifyStripe(usable, delivery)
    case 'slack':
      return verifySlack(usable, delivery)
    case 'hmac':
      return verifyHmac(verification, usable, delivery)
    case 'bearer':
      return verifyBearer(usable, delivery)
  }
}

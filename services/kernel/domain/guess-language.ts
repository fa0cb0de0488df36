/** Words that stand in short Spanish requests and in no English one. */
const SPANISH = new RegExp(
  '[¿¡ñáéíóú]|\\b(dale|dame|que|qué|como|acceso|accesos|las|los|con|rol|crea|quiero|hola|' +
    'gracias|operaciones|para|una|por favor)\\b',
  'i',
)

/** Spanish where the text says so, English otherwise: for requests that name no language. */
export function guessLanguage(text: string): 'en' | 'es' {
  return SPANISH.test(text) ? 'es' : 'en'
}

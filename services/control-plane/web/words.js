/**
 * The page's words in English and Spanish. Names and what the server, an agent or a sender wrote
 * stay as they are.
 */
import { words as english } from './words-en.js'
import { words as spanish } from './words-es.js'

/** By the browser's language. */
export const language = navigator.language.toLowerCase().startsWith('es') ? 'es' : 'en'

/** The words of that language. */
export const words = language === 'es' ? spanish : english

/** Puts the words of that language where the document says `data-word` or `data-label`. */
export function translate() {
  document.documentElement.lang = language
  for (const element of document.querySelectorAll('[data-word]')) {
    element.textContent = words[element.dataset.word]
  }
  for (const element of document.querySelectorAll('[data-label]')) {
    element.setAttribute('aria-label', words[element.dataset.label])
  }
}

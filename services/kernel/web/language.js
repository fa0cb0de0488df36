/**
 * The language of a page, by the browser's, and the words that every page needs. Names and what
 * the server, an agent or a sender wrote stay as they are.
 */
import { english, spanish } from './shared-words.js'

export const language = navigator.language.toLowerCase().startsWith('es') ? 'es' : 'en'

/** The words of that language that every page needs. */
export const sharedWords = language === 'es' ? spanish : english

/** Puts a page's words where its document says `data-word` or `data-label`. */
export function translate(words) {
  document.documentElement.lang = language
  for (const element of document.querySelectorAll('[data-word]')) {
    element.textContent = words[element.dataset.word]
  }
  for (const element of document.querySelectorAll('[data-label]')) {
    element.setAttribute('aria-label', words[element.dataset.label])
  }
}

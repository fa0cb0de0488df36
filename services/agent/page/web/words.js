/** The page's words in English and Spanish. States and summaries are names and stay as they are. */
import { language, sharedWords } from '../../../kernel/web/language.js'

/** By language. */
export const WORDS = {
  en: {
    title: 'Assistant',
    conversation: 'Conversation',
    operations: 'Operations',
    sessions: 'Conversations',
    message: 'Message',
    send: 'Send',
    console: 'Console',
    fresh: 'New conversation',
    enter: 'Start',
    keyStays: 'The key stays in this tab and is forgotten when it closes.',
    delivery: 'Delivery',
    noOperations: 'Nothing is going on.',
    thinking: 'The assistant is answering…',
    you: 'You',
    assistant: 'Assistant',
    mock: 'Mock model: it needs no credentials and knows only a few requests.',
    real: 'Model: ',
    wokenBy: 'Woken by ',
    trace: 'see the trace of ',
    woken: 'woken',
    attempt: 'attempt ',
  },
  es: {
    title: 'Asistente',
    conversation: 'Conversación',
    operations: 'Operaciones',
    sessions: 'Conversaciones',
    message: 'Mensaje',
    send: 'Enviar',
    console: 'Consola',
    fresh: 'Conversación nueva',
    enter: 'Empezar',
    keyStays: 'La clave se queda en esta pestaña y se olvida al cerrarla.',
    delivery: 'Entrega',
    noOperations: 'No hay nada en marcha.',
    thinking: 'El asistente está respondiendo…',
    you: 'Tú',
    assistant: 'Asistente',
    mock: 'Modelo simulado: no necesita credenciales y solo conoce unas pocas peticiones.',
    real: 'Modelo: ',
    wokenBy: 'Despertada por ',
    trace: 'ver la traza de ',
    woken: 'despertada',
    attempt: 'intento ',
  },
}

/** In the language of the page. */
export const words = { ...sharedWords, ...WORDS[language] }

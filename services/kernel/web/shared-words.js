/** What every page says. */

export const english = {
  leave: 'Forget the key',
  key: 'API key',
  connected: 'Live',
  away: 'Away; trying again',
  answered: status => `The server answered ${status}.`,
}

export const spanish = {
  leave: 'Olvidar la clave',
  key: 'Clave de la API',
  connected: 'En directo',
  away: 'Sin conexión; se vuelve a intentar',
  answered: status => `El servidor respondió ${status}.`,
}

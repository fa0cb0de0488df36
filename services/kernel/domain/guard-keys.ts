/**
 * Names of the guard's documents that other services look at before they spend money on a
 * candidate. Only the guard writes them.
 */
export const guardKey = (subscription: string) => `guard/${subscription}`
export const candidateKey = (subscription: string, id: string) => `candidate/${subscription}/${id}`
export const claimKey = (subscription: string, occurrence: string) =>
  `claim/${subscription}/${occurrence}`

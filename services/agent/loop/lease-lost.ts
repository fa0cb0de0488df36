/** Somebody else works under a newer lease: nothing more may be done in this run. */
export class LeaseLost extends Error {
  constructor() {
    super('Expected to act under the newest lease; another run took the session over.')
    this.name = 'LeaseLost'
  }
}

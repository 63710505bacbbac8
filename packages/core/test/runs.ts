/** The suite tries a quarter of the examples of a property; `npm run properties` tries all. */
export const runs = (all: number): number => (process.env.PROPERTY_RUNS === 'all' ? all : Math.ceil(all / 4))

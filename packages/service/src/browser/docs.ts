/** The pages of the documentation. Everything on them works without this script too. */
export {}

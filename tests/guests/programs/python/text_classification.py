from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
docs = ["free money now", "win a free prize", "meeting at noon", "project meeting notes", "free free win", "lunch at noon"]
labels = ["spam", "spam", "ham", "ham", "spam", "ham"]
vec = CountVectorizer()
X = vec.fit_transform(docs)
print(X.shape, vec.get_feature_names_out().tolist())
model = MultinomialNB().fit(X, labels)
print(model.predict(vec.transform(["free lunch", "win money", "notes at noon"])).tolist())
tfidf = TfidfVectorizer().fit_transform(docs)
print((tfidf @ tfidf.T).toarray()[0].round(3))

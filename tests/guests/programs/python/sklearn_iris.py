"""Train and judge a few classifiers on iris with scikit-learn."""
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, export_text

iris = load_iris()
print(iris.data.shape, list(iris.target_names))
X_train, X_test, y_train, y_test = train_test_split(iris.data, iris.target, test_size=0.3, random_state=42, stratify=iris.target)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
model.fit(X_train, y_train)
pred = model.predict(X_test)
print("accuracy", round(accuracy_score(y_test, pred), 3))
print(confusion_matrix(y_test, pred))
tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X_train, y_train)
print(export_text(tree, feature_names=list(iris.feature_names)))
print("cv", cross_val_score(model, iris.data, iris.target, cv=5).round(3))
pca = PCA(n_components=2).fit(iris.data)
print("explained", pca.explained_variance_ratio_.round(3))
km = KMeans(n_clusters=3, n_init=10, random_state=0).fit(iris.data)
print("inertia", round(km.inertia_, 1), sorted(int((km.labels_ == k).sum()) for k in range(3)))
